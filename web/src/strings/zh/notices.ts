import { plural } from '../format.ts'

const headline = {
  approval: '需要批准',
  question: 'Familiar 有一个问题',
  build_ready: '新工具已就绪',
  build_failed: '构建失败',
  repair_ready: '工具已修复',
  repair_failed: '修复失败',
  schedule: '日程任务已完成',
  reply: '新回复',
  reply_failed: '回复失败',
}

const toasts: Partial<Record<keyof typeof headline, (name: string) => string>> = {
  build_ready: (name) => `“${name}”可以使用了`,
  repair_ready: (name) => `“${name}”已修复`,
  build_failed: (name) => `“${name}”构建失败。打开构建日志查看详情。`,
  repair_failed: (name) => `“${name}”修复失败。打开构建日志查看详情。`,
}

/** While the daemon is down. */
export const offlineStrings = {
  notRunning: 'Familiar 未运行',
  startIt: '请在运行 Familiar 的电脑的终端中启动它，或检查此设备的网络：',
  opensByItself: 'Familiar 响应后，此页面会自动打开。',
  waitingMessages: '届时将发送的消息',
  onlyFiles: '仅有文件，没有文本',
  cannotReach: '无法连接 Familiar。消息会保存在这里，恢复连接后发送。',
  waitingForConnection: '正在等待连接',
  notSent: (reason: string) => `未发送：${reason}`,
  alreadySent: '消息已经发送。',
}

/** Notices: the bell, toasts and notifications of the system. */
export const noticeStrings = {
  title: '通知',
  unread: (count: number) => plural(count, { other: '通知（# 条未读）' }),
  headline,
  toast: (kind: keyof typeof headline, name: string) => toasts[kind]?.(name) ?? `${headline[kind] ?? kind}：${name}`,
  show: '显示',
  none: '没有新通知',
  noneHint: '批准请求、问题、完成的构建、日程任务和未读回复会显示在这里。',
  turnOn: '开启通知',
  markAllRead: '全部标为已读',
  settings: '通知设置',
  systemNotifications: '此设备上的通知',
  stateHint: {
    absent: '此浏览器无法在这里显示通知。通知需要 HTTPS，或在运行 Familiar 的电脑上打开此页面。',
    blocked: '此浏览器屏蔽了 Familiar 的通知。请在浏览器的网站设置中允许通知。',
    off: '当 Familiar 在后台时显示。',
    on: '当 Familiar 在后台时显示。',
  },
  announceThese: '通知我',
  groups: {
    approvals: '批准请求',
    questions: '问题',
    builds: '完成的构建',
    schedules: '日程任务',
    replies: '回复',
  },
  bellShowsAll: '铃铛中的列表会显示全部。',
}
