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
    history.replaceState(null, "", place.pathname);
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

  private async post<Answer>(address: string, body: BodyInit, kind: string): Promise<Answer> {
    let response: Response;
    try {
      const headers = { "content-type": kind, "x-plausible-token": this.token };
      response = await this.fetched(address, { method: "POST", headers, body });
    } catch {
      throw new Refusal("The program behind this page has ended. Start it again, and open its address.", "Gone");
    }
    const told = (await response.json()) as {
      answer?: Answer;
      error?: { message: string; kind: string; cycle?: string[] };
      superseded?: boolean;
    };
    if (told.superseded) throw new Superseded();
    if (told.error) throw new Refusal(told.error.message, told.error.kind, told.error.cycle);
    return told.answer as Answer;
  }
}
