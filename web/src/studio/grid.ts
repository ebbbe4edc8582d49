// Tables of numbers as people type and paste them. A cell that is left empty is the rest of its row.

export type Cells = string[][];

export function cellsOf(rows: number[][]): Cells {
  return rows.map((row) => row.map((number) => String(Number(number.toPrecision(12)))));
}

/** What a spreadsheet copies: lines, with tabs or semicolons between cells. */
export function pasted(cells: Cells, text: string, row: number, column: number): Cells {
  const lines = text.replace(/\r/g, "").replace(/\n$/, "").split("\n");
  const block = lines.map((line) => line.split(/\t|;/).map((cell) => cell.trim().replace(",", ".")));
  return cells.map((old, place) =>
    old.map((cell, at) => block[place - row]?.[at - column] ?? cell),
  );
}

export function normalised(cells: Cells): Cells {
  return cells.map((row) => {
    const numbers = row.map((cell) => numberOf(cell) || 0);
    const sum = numbers.reduce((total, number) => total + number, 0);
    return sum > 0 ? numbers.map((number) => String(Number((number / sum).toPrecision(12)))) : row;
  });
}

export function uniform(cells: Cells): Cells {
  return cells.map((row) => row.map(() => String(Number((1 / row.length).toPrecision(12)))));
}

/** With one cell of each row the rest of it; rows whose others have more than 1 already stay as they are. */
export function complemented(cells: Cells, column: number): Cells {
  return cells.map((row) => {
    const others = row.reduce((total, cell, at) => total + (at === column ? 0 : numberOf(cell) || 0), 0);
    const rest = String(Number(Math.max(1 - others, 0).toPrecision(12)));
    return others > 1 + 1e-9 ? row : row.map((cell, at) => (at === column ? rest : cell));
  });
}

const numberOf = (cell: string) => Number(cell.trim().replace(",", ".").replace("−", "-"));

/** The numbers of a table that need not be probabilities: none may be missing. */
export function freeNumbersOf(cells: Cells): number[][] {
  return cells.map((row, place) =>
    row.map((cell) => {
      const number = cell.trim() === "" ? NaN : numberOf(cell);
      if (!Number.isFinite(number)) throw new Error(`Row ${place + 1}: ${cell.trim() || "an empty cell"} is no number.`);
      return number;
    }),
  );
}

/** The numbers; an empty cell is what the others of its row leave. What is wrong with them is an error in words. */
export function numbersOf(cells: Cells): number[][] {
  return cells.map((row, place) => {
    const empty = row.filter((cell) => cell.trim() === "").length;
    if (empty > 1) throw new Error(`Row ${place + 1} has ${empty} empty cells: only one can be the rest.`);
    const numbers = row.map((cell) => (cell.trim() === "" ? 0 : numberOf(cell)));
    const wrong = numbers.findIndex((number) => !Number.isFinite(number));
    if (wrong >= 0) throw new Error(`Row ${place + 1}: ${row[wrong]} is no number.`);
    const rest = 1 - numbers.reduce((total, number) => total + number, 0);
    if (empty && rest < -1e-9) throw new Error(`Row ${place + 1} has more than 1 already: nothing is left.`);
    return row.map((cell, at) => (cell.trim() === "" ? Math.max(rest, 0) : (numbers[at] ?? 0)));
  });
}

/** All combinations of states, in the order of a table's rows: the last parent changes first. */
export function combinations(parents: { states: string[] }[]): string[][] {
  return parents.reduce<string[][]>(
    (rows, parent) => rows.flatMap((row) => parent.states.map((state) => [...row, state])),
    [[]],
  );
}
