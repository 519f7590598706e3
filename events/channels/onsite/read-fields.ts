import { fitsBytes, wellFormed } from '../../bytes.ts';
import { RefusedChange } from '../fields.ts';
import {
  FIELD_TYPES,
  ONSITE_LIMITS as LIMITS,
  RESERVED_PROPERTIES,
  type OnsiteField,
} from './definition.ts';
import { objectAt, oneOf, quoted } from './read-values.ts';

/** The fields of a campaign; none when absent. Throws RefusedChange. */
export function readFields(sent: unknown): OnsiteField[] {
  const list = sent ?? [];
  if (!Array.isArray(list)) throw new RefusedChange('fields is not a list');
  if (list.length > LIMITS.fields)
    throw new RefusedChange(`fields has more than ${LIMITS.fields} entries`);
  const fields = list.map((one: unknown, index) => readField(one, `fields[${index}]`));
  const names = new Set<string>();
  for (const { name } of fields) {
    if (names.has(name)) throw new RefusedChange(`fields has ${quoted(name)} more than once`);
    names.add(name);
  }
  return fields;
}

function readField(sent: unknown, at: string): OnsiteField {
  const body = objectAt(sent, at);
  const { name, required = false } = body;
  if (typeof name !== 'string' || name === '' || !fitsBytes(name, LIMITS.fieldNameBytes))
    throw new RefusedChange(`${at}.name is not a text of 1 to ${LIMITS.fieldNameBytes} bytes`);
  if (RESERVED_PROPERTIES.includes(name))
    throw new RefusedChange(`${at}.name: ${name} is a property of every on-site event; rename it`);
  if (typeof required !== 'boolean')
    throw new RefusedChange(`${at}.required is neither true nor false`);
  const type = oneOf(body['type'], FIELD_TYPES, `${at}.type`);
  const options = readOptions(body['options'] ?? undefined, at);
  if ((type === 'choice') !== (options !== undefined))
    throw new RefusedChange(
      type === 'choice'
        ? `${at}.options is required: the texts that can be chosen`
        : `${at}.options: only a field of type choice has options`,
    );
  return { name: wellFormed(name), type, required, ...(options ? { options } : {}) };
}

function readOptions(sent: unknown, at: string): string[] | undefined {
  if (sent === undefined) return undefined;
  if (!Array.isArray(sent) || sent.length === 0 || sent.length > LIMITS.options)
    throw new RefusedChange(`${at}.options is not a list of 1 to ${LIMITS.options} texts`);
  const options = sent.map((one: unknown, index) => {
    if (typeof one !== 'string' || one === '' || !fitsBytes(one, LIMITS.optionBytes))
      throw new RefusedChange(
        `${at}.options[${index}] is not a text of 1 to ${LIMITS.optionBytes} bytes`,
      );
    return wellFormed(one);
  });
  if (new Set(options).size < options.length)
    throw new RefusedChange(`${at}.options has an option more than once`);
  return options;
}
