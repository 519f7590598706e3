/** A JSON Web Token. `sign` gets the bytes that are signed. */
export function signedToken(parts: {
  header: Readonly<Record<string, string>>;
  claims: Readonly<Record<string, string | number>>;
  sign: (bytes: Buffer) => Buffer;
}): string {
  const encode = (json: object) => Buffer.from(JSON.stringify(json)).toString('base64url');
  const text = `${encode(parts.header)}.${encode(parts.claims)}`;
  return `${text}.${parts.sign(Buffer.from(text)).toString('base64url')}`;
}
