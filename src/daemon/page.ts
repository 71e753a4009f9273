import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Folders } from '../agent/sessions/folders.ts'
import type { SessionViews } from '../agent/sessions/open-sessions.ts'
import type { Monitor } from '../base/telemetry/monitor.ts'
import { createNotices } from '../http/notices.ts'
import type { HttpPage, PageFiles } from '../http/page.ts'
import { createSignedInBrowsers, type OneTimeLinks } from '../security/sign-in.ts'
import type { Users } from '../security/users.ts'
import type { Essentials } from './daemon.ts'

const signInMinutes = 10

/** The places of the built page: beside the program in a package, in `.runtime/` of a clone. */
const places = ['../page', '../../.runtime/page'].map((place) => fileURLToPath(new URL(place, import.meta.url)))

export function createPageService(
  dependencies: Pick<Essentials, 'database' | 'clock' | 'ids'> &
    Omit<Parameters<typeof createNotices>[0], 'views'> & {
      links: OneTimeLinks
      views: SessionViews
      folders: Folders
      monitor: Pick<Monitor, 'current'>
      users: Pick<Users, 'list' | 'named'>
      agentName(): string
      commandLine(words: string): string
      /** The address for a browser. Known once it listens. */
      baseUrl(): string
    },
): HttpPage {
  const { links, views, folders, monitor, users, agentName, commandLine, baseUrl } = dependencies
  const files = findFiles()
  return {
    browsers: createSignedInBrowsers(dependencies),
    async signInLink(userId) {
      const { token } = await links.make({ userId, purpose: 'sign_in', subject: '', minutes: signInMinutes })
      // The part after # is sent to no server and stored in no log.
      return { url: `${baseUrl()}/#sign-in=${token}`, minutes: signInMinutes }
    },
    views,
    folders,
    notices: createNotices(dependencies),
    runningSessions: () => new Set(monitor.current().turns.map(({ sessionId }) => sessionId)),
    agentName,
    commandLine,
    userName: (userId) => users.list().find(({ id }) => id === userId)?.name ?? '',
    userNamed: (name) => users.named(name).id,
    ...(files && { files }),
  }
}

/** Undefined if the page was not built. Names are looked up in the list of files: no path leads out of it. */
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
        return readFileSync(join(directory, ...path.split('/')))
      } catch {
        // The page was rebuilt meanwhile: the list is read again.
        known = undefined
        return undefined
      }
    },
  }
}
