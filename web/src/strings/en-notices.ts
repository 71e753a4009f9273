const headline = {
  approval: 'Approval needed',
  question: 'Familiar has a question',
  build_ready: 'New tool ready',
  build_failed: 'Build failed',
  repair_ready: 'Tool repaired',
  repair_failed: 'Repair failed',
  schedule: 'Scheduled task finished',
  reply: 'New reply',
  reply_failed: 'Reply failed',
}

const toasts: Partial<Record<keyof typeof headline, (name: string) => string>> = {
  build_ready: (name) => `“${name}” is ready to use`,
  repair_ready: (name) => `“${name}” is repaired`,
  build_failed: (name) => `The build of “${name}” failed. Open the build log for details.`,
  repair_failed: (name) => `The repair of “${name}” failed. Open the build log for details.`,
}

/** While the daemon is down. */
export const offlineStrings = {
  notRunning: 'Familiar is not running',
  startIt: 'Start it in a terminal on its machine, or check the network of this device:',
  opensByItself: 'This page opens by itself as soon as Familiar answers.',
  waitingMessages: 'Messages that will be sent then',
  onlyFiles: 'Files without text',
  cannotReach: 'Familiar cannot be reached. Messages are kept here and sent when it is back.',
  waitingForConnection: 'Waiting for connection',
  notSent: (reason: string) => `Not sent: ${reason}`,
  alreadySent: 'The message was already sent.',
}

/** Notices: the bell, toasts and notifications of the system. */
export const noticeStrings = {
  title: 'Notifications',
  unread: (count: number) => `Notifications (${count} unread)`,
  headline,
  // A newer daemon may send a kind that has no headline.
  toast: (kind: keyof typeof headline, name: string) => toasts[kind]?.(name) ?? `${headline[kind] ?? kind}: ${name}`,
  show: 'Show',
  none: 'Nothing new',
  noneHint: 'Approvals, questions, finished builds, scheduled tasks and unread replies appear here.',
  turnOn: 'Turn on notifications',
  markAllRead: 'Mark all as read',
  settings: 'Notification settings',
  systemNotifications: 'Notifications on this device',
  stateHint: {
    absent: 'This browser shows no notifications here. They need HTTPS, or the page on the machine that runs Familiar.',
    blocked: 'This browser blocks notifications of Familiar. Allow them in its site settings.',
    off: 'Shown while Familiar is in the background.',
    on: 'Shown while Familiar is in the background.',
  },
  announceThese: 'Notify me about',
  groups: {
    approvals: 'Approvals',
    questions: 'Questions',
    builds: 'Finished builds',
    schedules: 'Scheduled tasks',
    replies: 'Replies',
  },
  bellShowsAll: 'The list behind the bell shows all of them.',
}
