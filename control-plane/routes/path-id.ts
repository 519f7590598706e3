/**
 * The id in a path: a positive integer without leading zeros that a number holds exactly; undefined
 * for anything else.
 */
export function pathId(text: string | undefined): number | undefined {
  if (text === undefined || !/^[1-9]\d{0,15}$/.test(text)) return undefined;
  const id = Number(text);
  return Number.isSafeInteger(id) ? id : undefined;
}
