export const service: string;
export const contacts: number;
export const headers: Record<string, string>;
export function take(steps: Record<string, () => Promise<unknown>>): Promise<void>;
export function wholeList(records: { ContactGuid?: string }[]): string;
export const assert: {
  ok(holds: unknown, message?: string): asserts holds;
  equal(value: unknown, wanted: unknown): void;
};
