// The server behind the page: questions go there as JSON, files as they are. The token came with the address.

/** Why there is no answer. */
export class Refusal extends Error {
  constructor(
    message: string,
    /** The kind of error, such as "TooLarge". */
    readonly kind: string,
    /** The nodes of a cycle that an edge would close. */
    readonly cycle: string[] = [],
  ) {
    super(message);
  }
}

/** A newer question of the same kind came before this one was answered: nobody wants the answer any more. */
export class Superseded extends Error {}

export type Fields = Record<string, unknown>;

const PLACE = "plausible token";

/** The token from the address, from where it goes at once, so that no bookmark or screenshot has it. */
export function tokenOf(place: Location, kept: Storage): string {
  const told = place.hash.slice(1);
  if (told) {
    kept.setItem(PLACE, told);
    history.replaceState(null, "", place.pathname + place.search);
  }
  return kept.getItem(PLACE) ?? "";
}

export class Server {
  /** Pages in several tabs ask for themselves. */
  private readonly page = crypto.randomUUID();

  constructor(
    private readonly token: string,
    private readonly fetched: typeof fetch = fetch.bind(globalThis),
  ) {}

  /** The answer to a question. */
  ask<Answer>(question: string, fields: Fields = {}): Promise<Answer> {
    return this.post("/ask", JSON.stringify({ ...fields, question, page: this.page }), "application/json");
  }

  /** Open the file of a model (`open`) or of rows (`rows`). */
  send<Answer>(where: "open" | "rows", file: File): Promise<Answer> {
    return this.post(`/${where}?name=${encodeURIComponent(file.name)}`, file, "application/octet-stream");
  }

  /** Work that takes its time: news on the way, then the answer. */
  async run<Answer>(question: string, fields: Fields, run: string, onnews: (news: News) => void): Promise<Answer> {
    const body = JSON.stringify({ ...fields, question, run });
    const headers = { "content-type": "application/json", "x-plausible-token": this.token };
    const response = await this.fetched("/run", { method: "POST", headers, body });
    if (!response.ok || !response.body) return this.read<Answer>(response);
    for await (const event of eventsOf(response.body)) {
      const told = event as Told<Answer> & { news?: News };
      if (!told.news) return answerOf(told);
      onnews(told.news);
    }
    throw new Refusal(GONE, "Gone");
  }

  /** End it early: its answer is the best so far. */
  async stop(run: string): Promise<void> {
    await this.post("/stop", JSON.stringify({ run }), "application/json");
  }

  private async post<Answer>(address: string, body: BodyInit, kind: string): Promise<Answer> {
    let response: Response;
    try {
      const headers = { "content-type": kind, "x-plausible-token": this.token };
      response = await this.fetched(address, { method: "POST", headers, body });
    } catch {
      throw new Refusal(GONE, "Gone");
    }
    return this.read<Answer>(response);
  }

  private async read<Answer>(response: Response): Promise<Answer> {
    return answerOf((await response.json()) as Told<Answer>);
  }
}

interface Told<Answer> {
  answer?: Answer;
  error?: { message: string; kind: string; cycle?: string[] };
  superseded?: boolean;
}

/** How far some work is. */
export interface News {
  text: string;
  /** From 0 to 1, where that is known. */
  share?: number;
}

const GONE = "The program behind this page has ended. Start it again, and open its address.";

function answerOf<Answer>(told: Told<Answer>): Answer {
  if (told.superseded) throw new Superseded();
  if (told.error) throw new Refusal(told.error.message, told.error.kind, told.error.cycle);
  return told.answer as Answer;
}

/** Server-sent events, each a JSON text. */
export async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<unknown> {
  const [reader, decoder] = [body.getReader(), new TextDecoder()];
  for (let rest = ""; ; ) {
    const { done, value } = await reader.read();
    if (done) return;
    const texts = (rest + decoder.decode(value, { stream: true })).split("\n\n");
    rest = texts.pop() ?? "";
    for (const text of texts) yield JSON.parse(text.replace(/^data: /, ""));
  }
}
