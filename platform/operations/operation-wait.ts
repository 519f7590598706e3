import Type, { type Static } from 'typebox';

const name = Type.String({ maxLength: 200 });
const count = Type.Integer({ minimum: 0 });

/** Kept of a list: the rest comes when these have ended. */
export const MAX_WAITS = 10;

const OWN = { additionalProperties: false } as const;

/** Why an operation waits: nothing of a person, and nothing that is a sentence of one language. */
const OperationWait = Type.Union([
  /** A process that does not run has events in its spool; `seen_at`: its last sign of life. */
  Type.Object(
    {
      key: Type.Literal('spool_of_ended'),
      service: name,
      instance: name,
      events: count,
      seen_at: name,
    },
    OWN,
  ),
  /** `reason`: why the process does not publish them, a sentence of it; empty: it does. */
  Type.Object(
    { key: Type.Literal('spool'), service: name, instance: name, events: count, reason: name },
    OWN,
  ),
  /** The process has not said yet that its spool is empty. */
  Type.Object({ key: Type.Literal('spool_unknown'), service: name, instance: name }, OWN),
  Type.Object({ key: Type.Literal('group'), group: name, topic: name, records: count }, OWN),
  Type.Object(
    { key: Type.Literal('freezing'), runs: Type.Array(count, { maxItems: MAX_WAITS }) },
    OWN,
  ),
  Type.Object({ key: Type.Literal('messages'), messages: count }, OWN),
]);

export type OperationWait = Static<typeof OperationWait>;

/** What a command tells the service `operator` that runs it. */
export const CommandReport = Type.Object(
  {
    /** The erasure that it carries out (erasures.id): `./ravand erase --resume` continues it. */
    erasure: Type.Optional(Type.Integer({ minimum: 1 })),
    /** Empty: it goes on. */
    waits: Type.Optional(Type.Array(OperationWait, { maxItems: MAX_WAITS })),
  },
  OWN,
);

export type CommandReport = Static<typeof CommandReport>;
