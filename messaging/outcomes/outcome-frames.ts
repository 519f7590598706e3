const LENGTH_BYTES = 4;

/** Records of message-outcome.v1 as message_outbox holds them: each behind its length. */
export function frameOutcomes(records: readonly Buffer[]): Buffer {
  return Buffer.concat(
    records.flatMap((record) => {
      const length = Buffer.alloc(LENGTH_BYTES);
      length.writeUInt32BE(record.length);
      return [length, record];
    }),
  );
}

/** The records of frameOutcomes. */
export function splitOutcomes(framed: Buffer): Buffer[] {
  const records: Buffer[] = [];
  for (let at = 0; at + LENGTH_BYTES <= framed.length;) {
    const end = at + LENGTH_BYTES + framed.readUInt32BE(at);
    records.push(framed.subarray(at + LENGTH_BYTES, end));
    at = end;
  }
  return records;
}
