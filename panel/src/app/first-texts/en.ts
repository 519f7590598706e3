import { messages as signIn } from '../../features/sign-in/texts/en.po';
import { messages as shared } from '../../shared/texts/en.po';
import { messages as app } from '../texts/en.po';

export const messages = { ...app, ...shared, ...signIn };
