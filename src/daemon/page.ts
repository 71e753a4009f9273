import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Clock } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import type { HttpPage } from '../channels/http/page/http-page.ts'
import type { PageFiles } from '../channels/http/page/page-files.ts'
import type { Monitor } from '../monitor/monitor.ts'
import { createBrowsers } from '../policy/browsers.ts'
import type { OneTimeLinks } from '../policy/one-time-links.ts'
import type { Users } from '../policy/users/users.ts'
import type { SessionViews } from '../sessions/session-views.ts'
import type { Database } from '../storage/database.ts'

const signInMinutes = 10

/** Where the page lies once it was built: beside the program in a package, in `.runtime/` of a clone. */
const places = ['../page', '../../.runtime/page'].map((place) => fileURLToPath(new URL(place, import.meta.url)))

export function openPage(dependencies: {
  database: Database
  links: OneTimeLinks
  views: SessionViews
  monitor: Pick<Monitor, 'current'>
  users: Pick<Users, 'list' | 'named'>
  agentName(): string
  /** Where a browser finds this daemon. Known once it listens. */
  baseUrl(): string
  clock: Clock
  ids: Ids
}): HttpPage {
  const { links, views, monitor, users, agentName, baseUrl } = dependencies
  const files = findFiles()
  return {
    browsers: createBrowsers(dependencies),
    async signInLink(userId) {
      const { token } = await links.make({ userId, purpose: 'sign_in', subject: '', minutes: signInMinutes })
      // Behind the # it is sent to no server and kept in no log.
      return { url: `${baseUrl()}/#sign-in=${token}`, minutes: signInMinutes }
    },
    views,
    runningSessions: () => new Set(monitor.current().turns.map(({ sessionId }) => sessionId)),
    agentName,
    userName: (userId) => users.list().find(({ id }) => id === userId)?.name ?? '',
    userNamed: (name) => users.named(name).id,
    ...(files && { files }),
  }
}

/** Undefined where the page was not built. Names are looked up in the list of what was there: no path leads out of it. */
function findFiles(): PageFiles | undefined {
  const directory = places.find((place) => existsSync(join(place, 'index.html')))
  if (directory === undefined) return undefined
  const list = () =>
    new Set(
      readdirSync(directory, { recursive: true, encoding: 'utf8' }).map((name) => `/${name.split(sep).join('/')}`),
    )
  let known: ReadonlySet<string> | undefined
  return {
    read(path) {
      known ??= list()
      if (!known.has(path) || !/\.\w+$/.test(path)) return undefined
      try {
        return { path, data: readFileSync(join(directory, ...path.split('/'))) }
      } catch {
        // The page was built anew meanwhile: what is gone is not found, and what is new is.
        known = undefined
        return undefined
      }
    },
  }
}
