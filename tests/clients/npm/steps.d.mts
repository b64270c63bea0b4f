export const service: string;
export const headers: Record<string, string>;
export const headersOfWriter: Record<string, string>;
export function take(steps: Record<string, () => Promise<unknown>>): Promise<void>;
export function wholeList(records: { ContactGuid?: string }[]): string;
export const assert: {
  ok(holds: unknown, message?: string): asserts holds;
  equal(value: unknown, wanted: unknown): void;
};
