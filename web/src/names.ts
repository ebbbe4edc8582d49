// Names as people type them.

/** The name that is meant: itself, whatever its case, how it begins, or a part of it, in this order. */
export function nearest(typed: string, names: string[]): string | undefined {
  const wanted = typed.trim().toLowerCase();
  const lower = names.map((name) => name.toLowerCase());
  const ways: ((name: string) => boolean)[] = [
    (name) => name === wanted,
    (name) => name.startsWith(wanted),
    (name) => name.includes(wanted),
  ];
  if (names.includes(typed)) return typed;
  for (const isMeant of ways) {
    const place = lower.findIndex(isMeant);
    if (place >= 0) return names[place];
  }
  return undefined;
}
