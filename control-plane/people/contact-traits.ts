/** Traits by which a person can be reached or named: only for members with profile.read. */
const CONTACT = ['email', 'phone', 'first_name', 'last_name', 'national_id', 'birthday'];

export function isContactTrait(name: string): boolean {
  return CONTACT.includes(name);
}
