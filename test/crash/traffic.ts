import type { Random } from '../support/random-log.ts'
import type { Client, Delivery } from './client.ts'
import { thinkingSource } from './crash-home.ts'
import { errand } from './errand.ts'

/** People who keep writing, one in each session, and never give up on a message. */
export interface Traffic {
  /** Starts nothing further; resolves when every request has an answer. */
  pause(): Promise<void>
  resume(): void
}

const sessions = [
  { session: 'first', source: 'http' },
  { session: 'second', source: thinkingSource },
  { session: 'third', source: 'http' },
]

const plans = [
  '',
  'charge',
  'charge,fetch_page,put_value',
  'print_page,charge|fetch_page',
  'put_value|charge,charge|print_page',
]

export function createTraffic(client: Client, random: Random): Traffic {
  let open = false
  let people: Promise<unknown> = Promise.resolve()
  let number = 0

  function nextDelivery(place: (typeof sessions)[number]): Delivery {
    number += 1
    const rounds = plans[random(plans.length)] ?? ''
    const plan = { rounds, asks: random(8) === 0, fills: random(6) === 0 }
    // Quick messages of one sender may become one turn; those of two never do.
    return { errand: errand(number, plan), ...place, sender: random(4) === 0 ? 'bob' : 'ada' }
  }

  async function write(place: (typeof sessions)[number]): Promise<void> {
    while (open) {
      for (let left = random(4); left > 0; left -= 1) {
        const delivery = nextDelivery(place)
        await client.notify(delivery)
        // As a network does that repeats itself.
        if (random(5) === 0) await client.notify(delivery)
      }
      await (random(2) === 0 ? client.chat(nextDelivery(place)) : client.chatOnce(nextDelivery(place)))
    }
  }

  return {
    async pause() {
      open = false
      await people
    },
    resume() {
      open = true
      people = Promise.all(sessions.map(write))
      // Signalled by `pause`.
      people.catch(() => undefined)
    },
  }
}
