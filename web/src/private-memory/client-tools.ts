import { longestContent, longestTitle } from './private-entry.ts'

export const toolNames = { save: 'save_memory', remove: 'delete_memory', read: 'read_browser_memory' } as const

const text = (description: string, maxLength: number) => ({ type: 'string', description, minLength: 1, maxLength })

const save = {
  name: toolNames.save,
  description:
    'Save something in the private memory of the user’s browser, where they ask for that or for privacy. It stays on their device: you can read it later only where they share it. A new name of the user takes the place of the one you saved before.',
  input_schema: {
    type: 'object',
    additionalProperties: false,
    required: ['title', 'content', 'category', 'priority'],
    properties: {
      title: text('A short title', longestTitle),
      content: text('All of it, understandable alone', longestContent),
      category: { type: 'string', enum: ['personal', 'project', 'reference', 'custom'] },
      priority: { type: 'integer', minimum: 1, maximum: 10, description: '10 is the most important' },
    },
  },
}

const remove = {
  name: toolNames.remove,
  description:
    'Delete something that you saved in the private memory of the user’s browser. What the user wrote there themself stays.',
  input_schema: {
    type: 'object',
    additionalProperties: false,
    required: ['memory_title', 'reason'],
    properties: {
      memory_title: text('The title, or a part that no other title has', longestTitle),
      reason: text('Why, in a few words', 500),
    },
  },
}

const read = {
  name: toolNames.read,
  description:
    'Read what the user shares of the private memory of their browser: notes about them and their work. Look here before you answer what may depend on it.',
  input_schema: { type: 'object', additionalProperties: false, required: [], properties: {} },
}

/** What this page can do itself, as a message tells it. Nothing of what is kept is in it. */
export function clientTools({ sharesSomething }: { sharesSomething: boolean }) {
  return sharesSomething ? [save, remove, read] : [save, remove]
}
