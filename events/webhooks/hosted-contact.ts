import type { JsonObject } from '../json.ts';
import { firstText, flagField, objectField, textField } from './fields.ts';
import { traitsOf, type Contact } from './contact.ts';

/** The contact of an order: from the order itself, else its customer, else its addresses. */
export function orderContact(order: JsonObject): Contact {
  const customer = objectField(order, 'customer');
  const addresses = [objectField(order, 'billing_address'), objectField(order, 'shipping_address')];
  return {
    email: firstText(
      textField(order, 'email'),
      textField(order, 'contact_email'),
      textField(customer, 'email'),
    ),
    phone: firstText(
      textField(order, 'phone'),
      textField(customer, 'phone'),
      ...addresses.map((address) => textField(address, 'phone')),
    ),
    platformId: textField(customer, 'id'),
  };
}

export function customerContact(customer: JsonObject): Contact {
  const address = objectField(customer, 'default_address');
  return {
    email: textField(customer, 'email'),
    phone: firstText(textField(customer, 'phone'), textField(address, 'phone')),
    platformId: textField(customer, 'id'),
  };
}

/**
 * Profile traits of a customer, with the address and contact of the surrounding order (without an
 * order: the customer itself); undefined when there are none.
 */
export function customerTraits(
  customer: JsonObject | undefined,
  source: JsonObject,
): JsonObject | undefined {
  const isOrder = source !== customer;
  const billing = objectField(source, 'billing_address');
  const address =
    objectField(customer, 'default_address') ?? billing ?? objectField(source, 'shipping_address');
  const contact = isOrder ? orderContact(source) : customerContact(source);
  return traitsOf({
    email: contact.email?.toLowerCase(),
    phone: contact.phone,
    first_name: firstText(textField(customer, 'first_name'), textField(billing, 'first_name')),
    last_name: firstText(textField(customer, 'last_name'), textField(billing, 'last_name')),
    city: textField(address, 'city'),
    region: textField(address, 'province'),
    country: textField(address, 'country'),
    email_opt_in:
      consent(customer, 'email_marketing_consent') ?? flagField(customer, 'accepts_marketing'),
    sms_opt_in: consent(customer, 'sms_marketing_consent'),
  });
}

/** Whether the customer consented to messages; undefined when unknown. */
function consent(customer: JsonObject | undefined, kind: string): boolean | undefined {
  const state = textField(objectField(customer, kind), 'state');
  return state === '' ? undefined : state === 'subscribed';
}
