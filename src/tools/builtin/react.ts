import { z } from 'zod'
import { defineTool, failed } from '../define-tool.ts'
import type { Tool } from '../tool.ts'

/** Puts an emoji beside the user's message. */
export function createReact(): Tool {
  return defineTool({
    name: 'react',
    description: 'React to the user’s message with one emoji.',
    input: z.object({ emoji: z.string().trim().min(1).max(40) }),
    effect: 'idempotent',
    async run({ emoji }) {
      const reaction = asEmoji(emoji)
      if (reaction === undefined) return failed('emoji: must be exactly one emoji, such as 👍')
      return { text: 'Done.', isError: false, reaction }
    },
  })
}

/** The emoji as it is written in full; undefined where the text is anything else. "❤" is meant as "❤️". */
function asEmoji(text: string): string | undefined {
  return [text, `${text}\ufe0f`].find((candidate) => /^\p{RGI_Emoji}$/v.test(candidate))
}
