/** Persian digits instead of ASCII ones, for text that people read. */
export function persianDigits(text: string): string {
  return text.replaceAll(/\d/g, (digit) => String.fromCodePoint(0x06f0 + Number(digit)));
}
