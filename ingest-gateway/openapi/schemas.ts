import type { Schema } from '../../platform/http/openapi.ts';
import { channelSchemas } from './channel-schemas.ts';
import { onsiteSchemas } from './onsite-schemas.ts';
import { MAX_BATCH_ITEMS } from '../../events/rejections.ts';

const text: Schema = { type: 'string' };
const time: Schema = { type: 'string', format: 'date-time' };
const map = (description: string): Schema => ({
  type: 'object',
  description,
  additionalProperties: true,
});
const count = (description: string): Schema => ({ type: 'integer', minimum: 1, description });

const TYPES = ['track', 'identify', 'page', 'screen', 'alias'];

/** ingest 2.6: in the order of the answers. */
const WARNING_CODES = [
  ...[
    'generated_message_id',
    'timestamp_in_future',
    'timestamp_too_old',
    'too_many_properties',
    'too_many_traits',
  ],
  ...['unserialisable_property', 'invalid_phone', 'invalid_national_id'],
];

const envelope = {
  event: { ...text, description: 'Name; required on track, at most 128 bytes as it is stored' },
  user_id: { ...text, description: 'At most 256 bytes; this or anonymous_id is required' },
  anonymous_id: { ...text, description: 'At most 256 bytes' },
  previous_id: { ...text, description: 'Required on alias' },
  message_id: {
    ...text,
    description: 'At most 256 bytes; a resend with the same one is stored once within 48 hours',
  },
  timestamp: time,
  sent_at: time,
  properties: map('At most 256 keys'),
  traits: map('At most 256 keys'),
  context: map('What the SDK knows of device, page, campaign and place'),
};

const warnings = { type: 'array', items: { $ref: '#/components/schemas/Warning' } };

/** The schemas of bodies that operations name. A null field counts as absent. */
export const schemas: Readonly<Record<string, Schema>> = {
  ...channelSchemas,
  ...onsiteSchemas,
  Status: {
    type: 'object',
    required: ['status', 'service', 'version'],
    properties: { status: { const: 'ok' }, service: { const: 'collector' }, version: text },
  },
  Event: { type: 'object', properties: envelope },
  Batch: {
    type: 'object',
    required: ['batch'],
    properties: {
      batch: {
        type: 'array',
        minItems: 1,
        maxItems: MAX_BATCH_ITEMS,
        items: {
          type: 'object',
          required: ['type'],
          properties: { type: { enum: TYPES }, ...envelope },
        },
      },
      context: { ...envelope.context, description: 'Of every item that has none' },
      sent_at: { ...time, description: 'Of every item that has none' },
    },
  },
  EventAccepted: {
    type: 'object',
    required: ['status', 'accepted'],
    properties: { status: { const: 'ok' }, accepted: { const: 1 }, warnings },
  },
  BatchAccepted: {
    type: 'object',
    required: ['status'],
    properties: {
      status: { const: 'ok' },
      accepted: count('Includes duplicates; absent when zero'),
      duplicates: count('Duplicates among the accepted events'),
      rejected: count('Rejected items'),
      warnings: { ...warnings, description: 'About fifty at most; the others are counted' },
      errors: {
        type: 'array',
        items: {
          type: 'object',
          required: ['index', 'reason'],
          properties: { index: { type: 'integer', minimum: 0 }, reason: text },
        },
      },
    },
  },
  DeliveryAccepted: {
    type: 'object',
    required: ['status'],
    properties: {
      status: { const: 'ok' },
      accepted: count('Events that the delivery added; absent when none'),
    },
  },
  Warning: {
    type: 'object',
    required: ['code'],
    properties: { code: { enum: WARNING_CODES }, field: text, note: text },
  },
  Failure: {
    type: 'object',
    required: ['status', 'message'],
    properties: { status: { const: 'error' }, message: text },
  },
};
