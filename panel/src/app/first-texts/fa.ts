import { messages as signIn } from '../../features/sign-in/texts/fa.po';
import { messages as shared } from '../../shared/texts/fa.po';
import { messages as app } from '../texts/fa.po';

export const messages = { ...app, ...shared, ...signIn };
