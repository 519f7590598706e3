/** Operators by the first four digits; prefixes that several virtual operators share are out. */
const OPERATOR_PREFIXES: Readonly<Record<string, readonly string[]>> = {
  mci: [
    '0910',
    '0911',
    '0912',
    '0913',
    '0914',
    '0915',
    '0916',
    '0917',
    '0918',
    '0919',
    '0990',
    '0991',
    '0992',
    '0993',
    '0994',
    '0995',
    '0996',
  ],
  irancell: [
    '0900',
    '0901',
    '0902',
    '0903',
    '0904',
    '0905',
    '0930',
    '0933',
    '0935',
    '0936',
    '0937',
    '0938',
    '0939',
    '0941',
  ],
  rightel: ['0920', '0921', '0922', '0923'],
  espadan: ['0931'],
  taliya: ['0932'],
  telekish: ['0934'],
  shatel: ['0998'],
};

const OPERATORS: ReadonlyMap<string, string> = new Map(
  Object.entries(OPERATOR_PREFIXES).flatMap(([operator, prefixes]) =>
    prefixes.map((prefix) => [prefix, operator] as const),
  ),
);

/** The operator of a prefix that is not in the table. */
export const OTHER_OPERATOR = 'other';

export interface IranianMobile {
  /** E.164: `+98` and ten digits that begin with 9. */
  e164: string;
  /** mci, irancell, rightel, …, or other. */
  operator: string;
}

/** Replaces Persian and Arabic-Indic digits by ASCII digits. */
export function asciiDigits(text: string): string {
  return text.replace(/[\u06f0-\u06f9\u0660-\u0669]/g, (digit) =>
    String(digit.charCodeAt(0) & 0xf),
  );
}

/**
 * Parses an Iranian mobile number (ingest 2.3, trait phone); undefined when it is not one. Ignores
 * everything except digits and a leading plus, then strips the country prefix (+98, 0098, 98) and
 * the trunk zero. Ten digits that begin with 9 must remain.
 */
export function parseIranianMobile(sent: string): IranianMobile | undefined {
  if (sent.length > MAX_PHONE_UNITS) return undefined;
  const ascii = asciiDigits(sent);
  const plus = /^[^\d+\uff0b]*[+\uff0b]/.test(ascii) ? '+' : '';
  const national = /^(?:\+98|0098|98)?0?(9\d{9})$/.exec(plus + ascii.replace(/\D/g, ''))?.[1];
  if (national === undefined) return undefined;
  return {
    e164: `+98${national}`,
    operator: OPERATORS.get(`0${national.slice(0, 3)}`) ?? OTHER_OPERATOR,
  };
}

/** Longer texts are no phone numbers in any notation. */
const MAX_PHONE_UNITS = 256;
