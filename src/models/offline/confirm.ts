import type { Json } from '../../protocol/json.ts'
import { type Ability, say } from './ability.ts'
import { editCall } from './correct.ts'
import { agreements } from './correction-phrases.ts'
import { forgetCall } from './forget.ts'
import { isPhrase } from './phrase.ts'
import { texts } from './texts.ts'

const changing = ['memory_forget', 'memory_edit']
const refusals = ['no', 'no thanks', 'no thank you', 'nope', "don't", 'do not', 'leave it', 'keep it', 'never mind']

/** The answer to a question that a tool left the user with: what it asked about is done now, or left. */
export const confirm: Ability = {
  name: 'confirm',
  matches({ text }, { asking }) {
    if (asking?.about === undefined || !changing.includes(asking.call.name)) return undefined
    const answer = text.replaceAll(',', '')
    if (isPhrase(answer, refusals)) return say(texts.leftAsIs)
    if (!isPhrase(answer, agreements)) return undefined
    if (asking.call.name === 'memory_forget') return forgetCall(asking.about)
    const content = contentOf(asking.call.input)
    return content === undefined ? undefined : editCall(asking.about, content)
  },
}

function contentOf(input: Json): string | undefined {
  if (input === null || typeof input !== 'object' || Array.isArray(input)) return undefined
  return typeof input.content === 'string' ? input.content : undefined
}
