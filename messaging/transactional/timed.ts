import type { Stage, TransactionalPorts } from './ports.ts';

/** Measures how long a stage takes, however it ends. */
export async function timed<Result>(
  { measured, now }: Pick<TransactionalPorts, 'measured' | 'now'>,
  stage: Stage,
  work: Promise<Result>,
): Promise<Result> {
  const began = now();
  try {
    return await work;
  } finally {
    measured(stage, now() - began);
  }
}
