import { plural } from '../format.ts'

const headline = {
  approval: '承認が必要です',
  question: 'Familiar から質問があります',
  build_ready: '新しいツールができました',
  build_failed: '作成に失敗しました',
  repair_ready: 'ツールを修復しました',
  repair_failed: '修復に失敗しました',
  schedule: '予定した作業が完了しました',
  reply: '新しい返信',
  reply_failed: '返信に失敗しました',
}

const toasts: Partial<Record<keyof typeof headline, (name: string) => string>> = {
  build_ready: (name) => `「${name}」を使えるようになりました`,
  repair_ready: (name) => `「${name}」を修復しました`,
  build_failed: (name) => `「${name}」の作成に失敗しました。詳細は作成ログをご覧ください。`,
  repair_failed: (name) => `「${name}」の修復に失敗しました。詳細は作成ログをご覧ください。`,
}

/** While the daemon is down. */
export const offlineStrings = {
  notRunning: 'Familiar が起動していません',
  startIt: 'Familiar のある端末のターミナルで起動するか、このデバイスのネットワークを確認してください：',
  opensByItself: 'Familiar が応答すると、このページは自動的に開きます。',
  waitingMessages: '応答後に送信されるメッセージ',
  onlyFiles: 'ファイルのみ（テキストなし）',
  cannotReach: 'Familiar に接続できません。メッセージはここに保存され、再接続後に送信されます。',
  waitingForConnection: '接続を待っています',
  notSent: (reason: string) => `送信できませんでした：${reason}`,
  alreadySent: 'メッセージはすでに送信されています。',
}

/** Notices: the bell, toasts and notifications of the system. */
export const noticeStrings = {
  title: '通知',
  unread: (count: number) => plural(count, { other: '通知（未読 # 件）' }),
  headline,
  toast: (kind: keyof typeof headline, name: string) => toasts[kind]?.(name) ?? `${headline[kind] ?? kind}：${name}`,
  show: '表示',
  none: '新しい通知はありません',
  noneHint: '承認、質問、作成の完了、予定した作業、未読の返信がここに表示されます。',
  turnOn: '通知をオンにする',
  markAllRead: 'すべて既読にする',
  settings: '通知の設定',
  systemNotifications: 'このデバイスでの通知',
  stateHint: {
    absent:
      'このブラウザはここでは通知を表示できません。HTTPS を使うか、Familiar を実行している端末でこのページを開いてください。',
    blocked: 'このブラウザは Familiar の通知をブロックしています。ブラウザのサイト設定で許可してください。',
    off: 'Familiar がバックグラウンドにあるときに表示します。',
    on: 'Familiar がバックグラウンドにあるときに表示します。',
  },
  announceThese: '通知する項目',
  groups: {
    approvals: '承認',
    questions: '質問',
    builds: '作成の完了',
    schedules: '予定した作業',
    replies: '返信',
  },
  bellShowsAll: 'ベルの一覧にはすべて表示されます。',
}
