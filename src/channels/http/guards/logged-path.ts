const tokenLike = /[\w-]{40,}/g

/** A path as the log may hold it: what is long enough to be the token of a link is left out, wherever it stands. */
export function loggedPath(path: string): string {
  return path.replace(tokenLike, '…')
}
