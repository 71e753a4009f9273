import type { Ability } from './ability.ts'
import { afterPhrase } from './phrase.ts'
import { texts } from './texts.ts'

const orders = ['forget', '/forget', 'delete', 'erase', 'remove']

export const forget: Ability = {
  name: 'forget',
  matches: ({ request }) =>
    afterPhrase(request, orders) === undefined ? undefined : { type: 'say', kind: 'answer', text: texts.forget },
}
