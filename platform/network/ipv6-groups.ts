/** The eight 16-bit groups of a valid IPv6 address without a zone id. */
export function ipv6Groups(address: string): number[] {
  const [head = '', tail] = withHexadecimalEnd(address).split('::');
  const read = (part: string) =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
  const [before, after] = [read(head), read(tail ?? '')];
  return tail === undefined
    ? before
    : [...before, ...Array.from({ length: 8 - before.length - after.length }, () => 0), ...after];
}

/** `::ffff:127.0.0.1` as `::ffff:7f00:1`. */
function withHexadecimalEnd(address: string): string {
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address);
  if (!dotted) return address;
  const [, head = '', ...bytes] = dotted;
  const [a = 0, b = 0, c = 0, d = 0] = bytes.map(Number);
  return `${head}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
}
