import { readBundledText } from '../../../base/text-file.ts'

/** What the Builder is told before everything else. */
export const builderPrompt = readBundledText(new URL('./prompts/builder.md', import.meta.url))
