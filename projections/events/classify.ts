/** What an insert came to. */
export type Outcome =
  | { kind: 'stored' }
  /**
   * The rows themselves are at fault; nothing was stored, and the same rows will be refused again.
   */
  | { kind: 'refused'; code: string; detail: string }
  /** Nothing reached ClickHouse. */
  | { kind: 'unsent'; error: Error }
  /**
   * Anything may have happened: stored, not stored, stored for some months only, or still running.
   */
  | { kind: 'uncertain'; error: Error };

/**
 * Codes of ClickHouse that speak of values in the rows. Only these bury rows; every other code is
 * waited out, because a wrong guess there costs a wait and a wrong guess here would take good rows
 * out of the way.
 */
const DATA = new Map<string, string>([
  ['6', 'CANNOT_PARSE_TEXT'],
  ['26', 'CANNOT_PARSE_QUOTED_STRING'],
  ['27', 'CANNOT_PARSE_INPUT_ASSERTION_FAILED'],
  ['33', 'CANNOT_READ_ALL_DATA'],
  ['38', 'CANNOT_PARSE_DATE'],
  ['41', 'CANNOT_PARSE_DATETIME'],
  ['69', 'ARGUMENT_OUT_OF_BOUND'],
  ['70', 'CANNOT_CONVERT_TYPE'],
  ['72', 'CANNOT_PARSE_NUMBER'],
  ['117', 'INCORRECT_DATA'],
  ['128', 'TOO_LARGE_ARRAY_SIZE'],
  ['131', 'TOO_LARGE_STRING_SIZE'],
  ['190', 'SIZES_OF_ARRAYS_DONT_MATCH'],
  ['321', 'VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE'],
  ['407', 'DECIMAL_OVERFLOW'],
  ['467', 'CANNOT_PARSE_BOOL'],
  ['469', 'VIOLATED_CONSTRAINT'],
]);

/** Errors of the Avro library come under this general code. */
const STD_EXCEPTION = '1001';

/** The connection was never made, so nothing was sent. */
const UNSENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

/** Tells what a failed insert means. */
export function classify(error: unknown): Exclude<Outcome, { kind: 'stored' }> {
  const problem = error instanceof Error ? error : new Error(String(error));
  const code = 'code' in problem && typeof problem.code === 'string' ? problem.code : '';
  if (UNSENT.has(code)) return { kind: 'unsent', error: problem };
  const data =
    DATA.get(code) ??
    (code === STD_EXCEPTION && problem.message.includes('avro::Exception')
      ? 'AVRO_EXCEPTION'
      : undefined);
  if (data !== undefined) return { kind: 'refused', code: data, detail: problem.message };
  return { kind: 'uncertain', error: problem };
}
