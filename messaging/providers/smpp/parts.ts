import { cutText } from '../../sms/sms-parts.ts';

/** One submit_sm of a message. */
export interface SmsPart {
  /** 0: the default alphabet of the message centre; 8: UCS-2. */
  dataCoding: 0 | 8;
  /** 0x40: the text begins with a user data header. */
  esmClass: 0 | 0x40;
  bytes: Buffer;
}

/**
 * Characters with the same byte in GSM 03.38, Latin-1 and ASCII: message centres differ in their
 * default alphabet, and `@`, `$` and `_` would arrive as something else.
 */
const EVERYWHERE = /^[A-Za-z0-9 \r\n!"#%&'()*+,\-./:;<=>?]*$/;

const UCS2 = { dataCoding: 8, one: 70, each: 67 } as const;
const DEFAULT = { dataCoding: 0, one: 160, each: 153 } as const;
const UDH_BYTES = 6;

/**
 * A text as the parts in which it is sent, in order. A part ends between two code points.
 * @param reference joins the parts in the phone: the same for all, another one for other messages
 */
export function partsOf(text: string, reference: number): SmsPart[] {
  const { dataCoding, one, each } = EVERYWHERE.test(text) ? DEFAULT : UCS2;
  const bytesOf = (part: string) =>
    dataCoding === 8 ? Buffer.from(part, 'utf16le').swap16() : Buffer.from(part, 'latin1');
  if (text.length <= one) return [{ dataCoding, esmClass: 0, bytes: bytesOf(text) }];
  const texts = cutText(text, { each });
  return texts.map((part, at) => ({
    ...{ dataCoding, esmClass: 0x40 as const },
    bytes: Buffer.concat([udh(reference, texts.length, at + 1), bytesOf(part)]),
  }));
}

/** Concatenation with a reference of 8 bits (3GPP TS 23.040). */
function udh(reference: number, total: number, part: number): Buffer {
  return Buffer.from([UDH_BYTES - 1, 0, 3, reference & 0xff, total, part]);
}
