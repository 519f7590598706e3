/** The sentence is for the person who wrote the rule. */
export class UnreadableRule extends Error {}

/** One of the values; undefined when the part is absent. */
export function choice<Value extends string>(
  parts: ReadonlyMap<string, string>,
  name: string,
  values: readonly Value[],
): Value | undefined {
  const text = parts.get(name);
  if (text === undefined) return undefined;
  const value = values.find((one) => one === text);
  if (value === undefined)
    throw new UnreadableRule(`${name}=${text} is not supported: use ${values.join(', ')}.`);
  return value;
}

export function positive(
  parts: ReadonlyMap<string, string>,
  name: string,
  max: number,
): number | undefined {
  const text = parts.get(name);
  if (text === undefined) return undefined;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (value < 1 || value > max)
    throw new UnreadableRule(`${name}=${text}: give a whole number from 1 to ${max}.`);
  return value;
}

export function numbers(
  parts: ReadonlyMap<string, string>,
  { name, from, to, signed = false }: { name: string; from: number; to: number; signed?: boolean },
): number[] {
  const text = parts.get(name);
  if (text === undefined) return [];
  const values = text.split(',').map((one) => {
    const value = /^[+-]?\d{1,2}$/.test(one) ? Number(one) : NaN;
    const size = signed ? Math.abs(value) : value;
    if (size >= from && size <= to && (signed || /^\d/.test(one))) return value;
    throw new UnreadableRule(
      `${name}: "${one}" is not supported. Give whole numbers from ${from} to ${to}${signed ? `, or from -1 (the last day) to -${to}` : ''}.`,
    );
  });
  return [...new Set(values)].sort((one, other) => one - other);
}
