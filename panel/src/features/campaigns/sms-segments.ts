/** Characters of the GSM alphabet that Persian texts do not have; `^{}\[~]|€` count twice. */
const GSM =
  /^[@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&'()*+,\-./0-9:;<=>?¡A-ZÄÖÑÜ§¿a-zäöñüà^{}\\[~\]|€]*$/;
const DOUBLE = /[\^{}\\[~\]|€]/g;

/**
 * Parts of a text message as operators count them: 70 characters of Unicode, or 160 of the GSM
 * alphabet; 67 and 153 in each of several parts.
 */
export function smsSegments(text: string): { characters: number; segments: number } {
  const isGsm = GSM.test(text);
  const characters = text.length + (isGsm ? (text.match(DOUBLE)?.length ?? 0) : 0);
  const [one, many] = isGsm ? [160, 153] : [70, 67];
  const segments = characters === 0 ? 0 : characters <= one ? 1 : Math.ceil(characters / many);
  return { characters, segments };
}
