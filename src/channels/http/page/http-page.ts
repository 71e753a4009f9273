import type { Browsers } from '../../../policy/browsers.ts'
import type { SessionViews } from '../../../sessions/session-views.ts'
import type { PageFiles } from './page-files.ts'

/** What the page needs beside the API that everybody has. */
export interface HttpPage {
  browsers: Browsers
  /** An address that signs a browser in, once, within that many minutes. */
  signInLink(userId: string): Promise<{ url: string; minutes: number }>
  views: SessionViews
  /** The sessions in which a turn is under way. */
  runningSessions(): ReadonlySet<string>
  agentName(): string
  userName(userId: string): string
  /** The id of the user by that name; `not_found` where there is none. */
  userNamed(name: string): string
  /** Absent where the page was not built. */
  files?: PageFiles
}
