import { ask } from '../api/ask.ts'
import { pageKey } from '../api/page-key.ts'

/** Ends this browser, or all of the user's. The next request is refused, which shows the way in again. */
export async function signOut(options: { everywhere?: boolean } = {}): Promise<void> {
  await ask('/sign-out', { body: options })
  pageKey.forget()
  location.assign('/')
}
