/** The state of the page: which number's people are listed, as its URL has it. */
export interface PeopleSearch {
  /** The body of POST /v1/reports/people. */
  of?: Record<string, unknown>;
}

export function readPeopleSearch({ of }: Record<string, unknown>): PeopleSearch {
  return typeof of === 'object' && of !== null && !Array.isArray(of)
    ? { of: of as Record<string, unknown> }
    : {};
}
