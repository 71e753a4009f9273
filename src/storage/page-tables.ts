/** What the page keeps: browsers that are signed in, and how a session is called and how far it was read. */
export interface PageTables {
  browsers: BrowserRow
  session_views: SessionViewRow
}

export interface BrowserRow {
  id: string
  user_id: string
  /** sha256 of what its cookie holds, and of what its page holds; neither is stored, and neither is enough. */
  cookie_hash: string
  page_hash: string
  /** What it calls itself: shown, never believed. */
  name: string
  created_at: number
  seen_at: number
  expires_at: number
}

interface SessionViewRow {
  session_id: string
  /** What the user calls it; null where it is called by what it began with. */
  title: string | null
  /** The newest event that was in sight. */
  read_seq: number
}
