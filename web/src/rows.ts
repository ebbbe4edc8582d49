// Which states of a variable stand in its box.

export interface Row {
  /** The position of the state; null for the row of all others. */
  state: number | null;
  /** How many states it stands for. */
  count: number;
}

/** All rows where there are not too many; else the marked and the likeliest states in their order, and one for the rest. */
export function folded(probabilities: number[], marked: number[], most: number): Row[] {
  const all = probabilities.map((_, state) => state);
  if (all.length <= most) return all.map((state) => ({ state, count: 1 }));
  const rank = (state: number) => (marked.includes(state) ? 2 : (probabilities[state] ?? 0));
  const ranked = [...all].sort((one, other) => rank(other) - rank(one) || one - other);
  const shown = ranked.slice(0, most - 1).sort((one, other) => one - other);
  return [...shown.map((state) => ({ state, count: 1 })), { state: null, count: all.length - shown.length }];
}

/** The sum over the states that no row shows. */
export function rest(numbers: number[], rows: Row[]): number {
  const shown = new Set(rows.map((row) => row.state));
  return numbers.reduce((sum, number, state) => (shown.has(state) ? sum : sum + number), 0);
}

/** A probability in percent; what rounds to nothing or to all but is not, says so, as in still pictures. */
export function percentage(probability: number): string {
  if (probability <= 0) return "0%";
  if (probability < 0.0005) return "0+";
  if (probability >= 1 - 1e-12) return "100%";
  return probability > 0.9995 ? "100−" : `${oneDigit(100 * probability)}%`;
}

/** As Python rounds: a number in the middle, which is always a quarter, goes to the even digit. */
function oneDigit(number: number): string {
  return (number % 1 === 0.25 ? number - 0.05 : number).toFixed(1);
}
