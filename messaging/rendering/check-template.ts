import type { CheckTemplate } from '../templates/read-draft.ts';
import { problemsOf } from './compile.ts';

/** Checks the Liquid of every part when a template is saved, and their lengths. */
export const checkTemplate: CheckTemplate = (content) => problemsOf(content);
