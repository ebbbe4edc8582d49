// What is to be learned from rows, as the page has it and as the server is told.

export interface Column {
  name: string;
  isContinuous: boolean;
  /** Whether it has numbers that can be cut into intervals. */
  canBeCut: boolean;
  states: string[];
  numStates: number;
  missing: number;
  /** Why it is hardly a variable; empty if it may be one. */
  doubt: string;
}

export interface ColumnPlan {
  isUsed: boolean;
  /** Its tier, as typed: a number, or nothing. */
  tier: string;
  /** How numbers are cut into intervals; empty for not at all. */
  method: string;
  /** Into how many, where the method leaves that open. */
  bins: number;
  /** The cut points, as typed, of who knows them; the variable that intervals are to tell about. */
  cuts: string;
  target: string;
}

/** How a column is cut, as the server is told; null for not at all. */
export function cutting({ method, bins, cuts, target }: ColumnPlan): object | null {
  if (!method) return null;
  if (method === "mdl") return { method, target };
  if (method !== "at") return { method, bins: bins || 2 };
  const typed = cuts.split(/[;\s]+/).filter((cut) => cut);
  return { method, cuts: typed.map((cut) => Number(cut.replace(",", ".").replace("−", "-"))) };
}

export interface Plan {
  columns: Record<string, ColumnPlan>;
  required: [string, string][];
  forbidden: [string, string][];
  method: string;
}

/** The plan as fields of a question. */
export function told(plan: Plan) {
  const used = Object.entries(plan.columns).filter(([, column]) => column.isUsed);
  const tiers = new Map<number, string[]>();
  for (const [name, { tier }] of used) {
    const number = Number(tier);
    if (String(tier).trim() !== "" && Number.isFinite(number)) tiers.set(number, [...(tiers.get(number) ?? []), name]);
  }
  const ordered = [...tiers.entries()].sort(([one], [other]) => one - other).map(([, names]) => names);
  return {
    columns: used.map(([name]) => name),
    intervals: Object.fromEntries(
      used.filter(([, column]) => column.method).map(([name, column]) => [name, cutting(column)]),
    ),
    tiers: ordered,
    required: plan.required,
    forbidden: plan.forbidden,
    method: plan.method,
  };
}
