import Type, { type Static } from 'typebox';
import { PROJECTIONS, TOPIC, type ProjectionName } from '../../schemas/topology.ts';

const group = Type.String({ pattern: '^[0-9a-f]{4,64}$' });
const dry_run = Type.Boolean();
/** As clients send distinct ids. */
const name = Type.String({ minLength: 1, maxLength: 1024 });
const reason = Type.String({ minLength: 1, maxLength: 500, pattern: '\\S' });
const time = Type.String({ pattern: String.raw`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$` });

const OWN = { additionalProperties: false } as const;

/** What each kind is asked with. */
export const OPERATIONS = {
  'dead_letters.redrive': Type.Object({ group, dry_run }, OWN),
  'dead_letters.discard': Type.Object({ group, reason, dry_run }, OWN),
  'dead_letters.restore': Type.Object({ group, dry_run }, OWN),
  'person.erase': Type.Object({ user_id: name, dry_run }, OWN),
  'person.split': Type.Object({ name, from: name, dry_run }, OWN),
  'person.rejoin': Type.Object({ name, from: name, dry_run }, OWN),
  'log.replay': Type.Object(
    {
      topic: Type.Enum([TOPIC.raw, TOPIC.normalised]),
      from: time,
      to: time,
      account_id: Type.Optional(Type.Integer({ minimum: 1 })),
      dry_run,
    },
    OWN,
  ),
  'projection.rebuild': Type.Object(
    {
      projection: Type.Enum(Object.keys(PROJECTIONS) as ProjectionName[]),
      /** `compare` fills a table beside the live one and compares them. */
      step: Type.Enum(['compare', 'swap', 'undo', 'cancel']),
    },
    OWN,
  ),
} as const;

export type OperationKind = keyof typeof OPERATIONS;
export const OPERATION_KINDS = Object.keys(OPERATIONS) as OperationKind[];

export type OperationInput<Kind extends OperationKind> = Static<(typeof OPERATIONS)[Kind]>;

/** A request of one kind. */
export type Operation = {
  [Kind in OperationKind]: { kind: Kind; input: OperationInput<Kind> };
}[OperationKind];

/** Changes all accounts: for members who are operators, and of no account. */
export function isOfInstallation(kind: OperationKind): boolean {
  return kind === 'log.replay' || kind === 'projection.rebuild';
}

/** Names a person: nothing of it stays once it has ended. */
export function isAboutPerson(kind: OperationKind): boolean {
  return kind.startsWith('person.');
}

/** Changes nothing. */
export function isDry({ input }: Operation): boolean {
  return 'dry_run' in input && input.dry_run;
}

/** Takes minutes or hours: it may not hold up the others. */
export function isLong(operation: Operation): boolean {
  const { kind } = operation;
  return isOfInstallation(kind) || (kind === 'person.erase' && !isDry(operation));
}

export type OperationState = 'queued' | 'running' | 'succeeded' | 'failed' | 'stopped';
