const name = 'familiar.page_key'

/**
 * This page's half of the proof that it is signed in; the other is a cookie that no script can read. Each is worth nothing
 * without the other.
 */
export const pageKey = {
  get: () => localStorage.getItem(name),
  keep: (key: string) => localStorage.setItem(name, key),
  forget: () => localStorage.removeItem(name),
}
