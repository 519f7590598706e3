/** Whose thing is changed, and who changes it: `operator` or `key:ID`, as in audit lines. */
export interface Author {
  accountId: number;
  actor: string;
}
