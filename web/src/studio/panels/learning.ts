// What is to be learned from rows, as the page has it and as the server is told.

export interface Column {
  name: string;
  isContinuous: boolean;
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
  /** Into how many intervals numbers are cut; 0 for not at all, null for what has states. */
  intervals: number | null;
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
      used.filter(([, column]) => column.intervals).map(([name, column]) => [name, column.intervals]),
    ),
    tiers: ordered,
    required: plan.required,
    forbidden: plan.forbidden,
    method: plan.method,
  };
}
