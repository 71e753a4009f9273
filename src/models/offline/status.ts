import type { Ability } from './ability.ts'
import { afterPhrase, isPhrase } from './phrase.ts'
import { withoutWrapping } from './without-wrapping.ts'

const whole = ['status', '/status', 'your status', 'show status', 'cost', 'costs', '/cost', 'uptime', 'are you running']
const beginnings = [
  'how much have you spent',
  'how much did you spend',
  'how much money have you',
  'how much have you cost',
  'how much did you cost',
  'how much do you cost',
  'what did you cost',
  'what have you cost',
  'what have you spent',
  'what do you cost',
  "what's your status",
  'what is your status',
  'show me your status',
  'how many tokens',
  'which model',
  'what model',
  'how long have you been running',
]

export const status: Ability = {
  name: 'status',
  matches({ request }) {
    if (!isPhrase(request, whole) && afterPhrase(request, beginnings) === undefined) return undefined
    return {
      type: 'call',
      tool: 'session_status',
      input: {},
      purpose: 'read my status',
      answer: (result) => withoutWrapping(result) || 'There is nothing to tell about my status.',
    }
  },
}
