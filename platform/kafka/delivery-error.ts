import { createRequire } from 'node:module';
import kafka from 'node-rdkafka';

interface ErrorFactory {
  create: (of: number | Error) => { message: string; origin?: string };
}

const { create } = createRequire(import.meta.url)('node-rdkafka/lib/error.js') as ErrorFactory;

/** Codes of librdkafka by the origin and text of a delivery report. */
const codes = new Map(
  Object.values(kafka.CODES.ERRORS).map((code): [string, number] => {
    const { origin, message } = create(new Error(create(code).message));
    return [`${origin}: ${message}`, code];
  }),
);

/**
 * The code of a failed delivery: positive when the broker answered so. node-rdkafka's reports have
 * the text of the error only, and -1 in place of its code.
 */
export function deliveryCode(error: { code: number; message: string; origin?: string }): number {
  if (error.code !== -1) return error.code;
  return codes.get(`${error.origin}: ${error.message}`) ?? -1;
}
