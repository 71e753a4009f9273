import type { Ability } from './ability.ts'
import { afterPhrase, isPhrase } from './phrase.ts'
import { texts } from './texts.ts'

const help = [
  'help',
  '/help',
  '/start',
  'help me',
  'what can you do',
  'what can you do for me',
  'what can i ask you',
  'what can i do',
  'what do you do',
  'how do you work',
  'how does this work',
  'commands',
]
const identity = [
  'who are you',
  'what are you',
  'are you an ai',
  'are you a bot',
  'are you human',
  'are you a language model',
  "what's your name",
  'what is your name',
]
const greetings = [
  ...['hi', 'hello', 'hey', 'good morning', 'good afternoon', 'good evening', 'good day'].flatMap((word) => [
    word,
    `${word} there`,
    `${word} familiar`,
  ]),
  'how are you',
  'how are you doing',
  "what's up",
]
const thanks = ['thanks', 'thank you', 'thanks a lot', 'thank you very much', 'thank you so much', 'many thanks', 'thx']

const nods = [
  'ok',
  'okay',
  'yes',
  'no',
  'great',
  'good',
  'cool',
  'fine',
  'nice',
  'perfect',
  'got it',
  "that's great",
  'bye',
]

export const smallTalk: Ability = {
  name: 'small talk',
  matches({ text, request }) {
    if (isPhrase(request, help)) return { type: 'say', kind: 'answer', text: texts.help }
    if (isPhrase(request, identity)) return { type: 'say', kind: 'answer', text: texts.identity }
    if (isPhrase(text, thanks)) return { type: 'say', kind: 'courtesy', text: texts.thanks }
    const greets = isPhrase(request, greetings) || (request === '' && afterPhrase(text, greetings) !== undefined)
    if (greets || isPhrase(text, greetings)) {
      return { type: 'say', kind: 'courtesy', text: texts.greeting }
    }
    // Nothing but courtesy leaves no request at all: "ok, thanks".
    if (request === '' || isPhrase(request, nods)) return { type: 'say', kind: 'courtesy', text: texts.allRight }
    return undefined
  },
}
