import type { BuildReply } from '../../protocol/build-api.ts'
import { CommandError } from '../command-error.ts'
import type { CapsClient } from './caps-client.ts'

const mostBuilds = 500

/** By its id, by as much of its beginning as no other has, or the newest of the capability of that name. */
export async function findBuild(caps: CapsClient, wanted: string): Promise<BuildReply> {
  const builds = await caps.builds({ limit: mostBuilds })
  const exact = builds.find(({ id, name }) => id === wanted || name === wanted)
  if (exact) return exact
  const [first, second] = builds.filter(({ id }) => id.startsWith(wanted))
  if (first && !second) return first
  if (first) {
    throw new CommandError(`Several builds begin with ${JSON.stringify(wanted)}.`, {
      code: 'bad_request',
      hint: 'Give the whole id: familiar caps builds',
    })
  }
  throw new CommandError(`There is no build ${JSON.stringify(wanted)}, and no capability of that name was built.`, {
    code: 'not_found',
    hint: 'Those that there are: familiar caps builds',
  })
}
