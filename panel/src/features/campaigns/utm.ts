/** The parameters that a new campaign asks for, named as in the API. */
export const UTM_NAMES = ['source', 'medium', 'name'] as const;
export type UtmName = (typeof UTM_NAMES)[number];
export type UtmTexts = Record<UtmName, string>;
/** Of a stored campaign, which may have `term` and `content`, too. */
export type Utm = Partial<Record<UtmName | 'term' | 'content', string>>;

export const NO_UTM: UtmTexts = { source: '', medium: '', name: '' };

/** What was entered; undefined: nothing was. */
export function enteredUtm(texts: UtmTexts): Utm | undefined {
  const entered = UTM_NAMES.map((name) => [name, texts[name].trim()] as const).filter(
    ([, text]) => text !== '',
  );
  return entered.length === 0 ? undefined : Object.fromEntries(entered);
}

/** As a link carries it, parameter by parameter. */
export function utmParameters(utm: Utm): string[] {
  return Object.entries(utm).map(
    ([name, text]) => `utm_${name === 'name' ? 'campaign' : name}=${text}`,
  );
}
