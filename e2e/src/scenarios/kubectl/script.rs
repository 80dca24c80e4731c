//! The commands, one a line. What stands in quotes is one word.

const SCRIPT: &str = r#"
create namespace shop
config set-context --current --namespace=shop
create configmap letters --from-literal=a=1 --from-literal=b=2
create secret generic keys --from-literal=token=abc
create secret docker-registry pull --docker-server=example.test --docker-username=u --docker-password=p
create serviceaccount robot
create service clusterip plain --tcp=80:8080
create service nodeport ported --tcp=80:8080 --node-port=30080
create service loadbalancer balanced --tcp=80:8080
create service externalname outside --external-name=example.test
create deployment web --image=example/web:1 --replicas=2 --port=8080
create job once --image=example/i -- true
create cronjob nightly --image=example/i '--schedule=0 0 * * *' -- true
create job manual --from=cronjob/nightly
create role reader --verb=get,list --resource=pods
create rolebinding readers --role=reader --serviceaccount=shop:robot
create clusterrole node-reader --verb=get --resource=nodes
create clusterrolebinding node-readers --clusterrole=node-reader --user=jane
create ingress front '--rule=example.test/*=plain:80'
create poddisruptionbudget keep --selector=app=web --min-available=1
create priorityclass high --value=1000 --description=high
create quota limits --hard=pods=10
create deployment web --image=example/web:1
create configmap letters
apply -f app.yaml
apply -f app.yaml
apply -f app2.yaml
apply view-last-applied deployment shop
diff -f app.yaml
apply --server-side -f cm.yaml
apply --server-side -f cm2.yaml
apply --server-side --field-manager=other -f cm.yaml
apply --server-side --force-conflicts --field-manager=other -f cm.yaml
apply --dry-run=server -f app.yaml
edit configmap settings
get configmap settings -o 'jsonpath={.data}'
patch configmap settings -p '{"data":{"x":"1"}}'
patch configmap settings --type=merge -p '{"data":{"x":null}}'
patch configmap settings --type=json -p '[{"op":"add","path":"/data/y","value":"2"}]'
patch deployment shop -p '{"spec":{"template":{"spec":{"containers":[{"name":"web","env":[{"name":"A","value":"1"}]}]}}}}'
patch deployment shop --subresource=status --type=merge -p '{"status":{"replicas":3,"readyReplicas":3,"updatedReplicas":3,"availableReplicas":3}}'
patch deployment shop --subresource=scale --type=merge -p '{"spec":{"replicas":4}}'
get deployment shop --subresource=scale
get deployment shop --subresource=scale -o yaml
scale deployment shop --replicas=5
scale deployment shop --current-replicas=9 --replicas=5
scale deployment missing --replicas=5
rollout restart deployment shop
rollout status deployment shop --watch=false
rollout history deployment shop
rollout pause deployment shop
rollout resume deployment shop
rollout undo deployment shop
set image deployment/shop web=example/web:3
set env deployment/shop COLOR=red
set resources deployment/shop --limits=cpu=200m,memory=512Mi
set serviceaccount deployment/shop robot
set selector service/plain app=shop
set subject rolebinding readers --user=joe
label deployment shop tier=front
label deployment shop tier=front --overwrite
label deployment shop tier-
annotate deployment shop note=hello
annotate deployment shop note-
expose deployment shop --port=80 --target-port=8080 --name=exposed
autoscale deployment shop --min=1 --max=5 --cpu-percent=80
run loose --image=example/i:1 --restart=Never
run loose --image=example/i:1 --dry-run=client -o yaml
run loose --image=example/i:1 --dry-run=server -o name
replace -f cm.yaml
replace --force -f cm.yaml
create -f crd.yaml
wait --for=condition=Established crd/gears.parity.example --timeout=10s
create -f gear.yaml
get gears
get gr cog -o yaml
scale gear cog --replicas=7
get gear cog --subresource=scale
explain gear.spec
explain gears
create -f node.yaml
cordon node-a
uncordon node-a
taint nodes node-a k=v:NoSchedule
taint nodes node-a k=v:NoSchedule-
create -f bare.yaml
drain node-a --force --timeout=5s
drain node-a --force --dry-run=server
delete pod bare --grace-period=0 --force --ignore-not-found
get nodes
get node node-a -o 'jsonpath={.spec}'
describe node node-a
get pods
get pods -o wide
get pods -o name
get gears -o json
get gear cog -o json
get serviceaccounts -o yaml
get configmap settings -o yaml
get pods -o 'jsonpath={.items[*].metadata.name}'
get pods -o custom-columns=N:.metadata.name,I:.spec.containers[0].image
get pods -o 'go-template={{range .items}}{{.metadata.name}}{{end}}'
get pods --show-labels
get pods -L run
get pods --no-headers
get pods -A
get pods -l run=loose
get pods --field-selector=metadata.name=loose
get pods --sort-by=.metadata.name
get pod missing
get nothing
get all
get deployments
get deployments -o wide
get services
get services -o wide
get configmaps
get secrets
get serviceaccounts
get jobs
get jobs -o wide
get cronjobs
get cronjobs -o wide
get ingress
get pdb
get hpa
get roles
get rolebindings
get rolebindings -o wide
get clusterroles node-reader
get clusterrolebindings node-readers
get clusterrolebindings node-readers -o wide
get priorityclass high
get quota
get crd gears.parity.example
get namespaces shop
get replicasets
get endpoints
get events --field-selector type!=Warning
get leases
get deployment/shop service/plain
get deployment shop -o yaml
get --raw /healthz
get pods,services
explain pods
explain pods.spec
explain pod.spec.containers.image
explain deployments --recursive
explain deployment.spec.replicas
explain deployment.spec.strategy
explain pod.spec.nothing
explain services.spec.ports
explain configmap
explain deployments --api-version=apps/v1
auth can-i create pods
auth can-i --list
auth can-i get pods --subresource=log
auth can-i '*' '*'
auth can-i list nothings
auth whoami
api-resources
api-resources --namespaced=true -o name
api-resources --api-group=apps
api-resources --verbs=list -o wide
api-versions
cluster-info
describe deployment shop
describe service plain
describe pod loose
describe namespace shop
describe secret keys
describe gear cog
describe job once
describe ingress front
events --types=Normal
events --for deployment/shop
logs loose
exec loose -- true
delete pod loose --grace-period=0 --force
delete deployment web --cascade=orphan --wait=false
delete deployment shop --cascade=background
delete job once --cascade=foreground --wait=false
delete configmap letters --now
delete configmap missing
delete configmap missing --ignore-not-found
delete services -l app=nothing
delete secrets --all
delete -f gear.yaml
delete crd gears.parity.example
wait --for=delete configmap/letters --timeout=5s
wait --for=condition=Available deployment/missing --timeout=1s
wait '--for=jsonpath={.metadata.name}=robot' serviceaccount/robot --timeout=2s
attach loose
port-forward pod/missing 1:2
delete clusterrole node-reader
delete clusterrolebinding node-readers
delete priorityclass high
delete node node-a
delete namespace shop --wait=false
"#;

/// All commands, without `kubectl` before them.
pub(super) fn commands() -> Vec<&'static str> {
    SCRIPT.lines().filter(|line| !line.is_empty()).collect()
}

/// The words of a command.
pub(super) fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for letter in command.chars() {
        match letter {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(std::mem::take(&mut word)),
            letter => word.push(letter),
        }
    }
    words.push(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_is_long_enough_and_quotes_are_closed() {
        assert!(commands().len() >= 60);
        assert!(
            commands()
                .iter()
                .all(|command| command.matches('\'').count() % 2 == 0)
        );
        assert_eq!(words("get 'a b' -o 'c'"), ["get", "a b", "-o", "c"]);
    }
}
