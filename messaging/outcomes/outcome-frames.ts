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
